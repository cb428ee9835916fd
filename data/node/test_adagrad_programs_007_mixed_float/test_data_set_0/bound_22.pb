B#X_new_float_double_float_R_double_1J O0Å„Š†>7(të“Ö¢>OQQY
™>óx×—h£>