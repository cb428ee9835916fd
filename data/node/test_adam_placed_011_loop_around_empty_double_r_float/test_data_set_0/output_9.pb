BV1_new_laterJ MKÚ$wù?j	œšœú¿æÃ'
sı¿ıÕÆêó?