BX_newJRI¯Ï„`=–ôÛ”M=æ3F|
v=