BX_new_float_double_R_2J ‚º¦qé‡º<
àµHQÙ<†Éu4É<pw„c~ÏÅ<