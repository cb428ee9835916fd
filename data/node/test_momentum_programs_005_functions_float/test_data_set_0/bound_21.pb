BX_new_step_R_TJ D@˜+ô£>
é/`H>¡>OA¹ …•¼>qWÈ î„¶>