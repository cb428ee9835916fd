BX_new_step_R_other_TJ j*ó
°>Òq6‘nÓ·>?¯P¿J¶>Â$øV‹XÅ>