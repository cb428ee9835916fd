BX_new_double_float_R_1J ‚º¦qé‡º<
àµHQÙ<†Éu4É<pw„c~ÏÅ<