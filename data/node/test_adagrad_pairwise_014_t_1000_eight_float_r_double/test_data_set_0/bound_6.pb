BX7_newJýrQ
LYt>