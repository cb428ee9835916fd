B
H_row_readJß5¿ótÑ¿