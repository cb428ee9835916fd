B
H_negativeJo9ø¿