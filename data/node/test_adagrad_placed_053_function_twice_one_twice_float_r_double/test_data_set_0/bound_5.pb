BH1_new_negativeJ0,¡M½‘µ>°ôu¡Ë¬>ßK
lÑ¢>šlÖ>kIº>/eÞ¦¦$f>ËsÍhû°>