B
G_row_readJ,‹ÿ?”ÈV?