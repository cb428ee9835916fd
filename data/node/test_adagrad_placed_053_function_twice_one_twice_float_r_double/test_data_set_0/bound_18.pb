BH1_new_againJ0,¡M½‘µ>°ôu¡Ë¬>ßK
lÑ¢>šlÖ>kIº>/eÞ¦¦$f>ËsÍhû°>