BX1_newJt
Xbê2>