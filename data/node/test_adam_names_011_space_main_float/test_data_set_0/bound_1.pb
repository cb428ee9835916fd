Bvalue V_newJ Ó\òÆÎw>»ëLVy>")
Äï,q>GÀÇŸ©Œ‡>