BX_newJ â
;ûà–<ÖíGwÇn<$~FŞ™>™<÷huÆyL¡<