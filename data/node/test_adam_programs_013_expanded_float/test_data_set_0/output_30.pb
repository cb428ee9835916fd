B
H_row_readJ4µ¿û^ø¿