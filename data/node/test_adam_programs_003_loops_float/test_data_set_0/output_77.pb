BV_before_kept_readJä‡;?ð
A>,\‡¿Å<?