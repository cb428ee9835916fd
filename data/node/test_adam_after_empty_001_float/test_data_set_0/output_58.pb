BH4_new_matricesJS-Û?è π?
*‹?