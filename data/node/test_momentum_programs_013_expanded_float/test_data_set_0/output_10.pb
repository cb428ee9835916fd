B
G_row_readJçqª?ü·¿