BX1_new_laterJ0m>#Ãeó€>Ruˆy¯>t•
F*I >¢¤L<?j´>¨¼Œ'¦>¸©]¦J>