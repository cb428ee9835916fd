BX_new_double_float_R_double_2J O0Å„Š†>7(të“Ö¢>OQQY
™>óx×—h£>