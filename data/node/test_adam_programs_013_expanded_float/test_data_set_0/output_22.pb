B
V_row_readJ¢¡=?ï/„¾