BV_before_keptJä‡;?ð
A>,\‡¿Å<?