BX1_rearrangedJ$Ñg¿"3%¾ö6R>™â½9{ª¿Ã
¾