BV_last_earlyJä‡;?ð
A>,\‡¿Å<?