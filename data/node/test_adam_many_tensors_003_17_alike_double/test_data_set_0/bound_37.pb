BH4_newJö;«
mf <¢øÅK»ı…<