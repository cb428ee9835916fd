B
G_row_readJ' Œ¿¾¿