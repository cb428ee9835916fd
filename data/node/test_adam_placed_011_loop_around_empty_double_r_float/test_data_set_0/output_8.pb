BV1_new_sameJ MKÚ$wé¿j	œšœê?æÃ'
sí?ıÕÆêã¿