BG_2x3x4_outerJ`T
¿ø“?