B
H_negativeJ¸=ý²ƒù¿