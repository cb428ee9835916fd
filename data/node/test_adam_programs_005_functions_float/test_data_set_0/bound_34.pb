BX_new_step_R_T_noneJ ò+õpU«>¡wKy>JZ8o½|¯>‰`
õÛÚš>