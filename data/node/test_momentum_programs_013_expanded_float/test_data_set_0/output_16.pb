B
V_row_readJ.–>Lt!¾