BX2_new_twin_sameJ0Ô
æO$lV>2ôFå¶‹˜>Y{1s×ÜŒ>$gô¤ >˜`2=’ï•>Ÿ%#óc4‘>