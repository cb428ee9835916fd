BV_newJ œt€•)÷?Àr"åzjë¿55il}æ?r~
Äq\õ¿