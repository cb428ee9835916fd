B
H_negativeJ]siÀĞ?Àbı.ÀÃ±Œ¿