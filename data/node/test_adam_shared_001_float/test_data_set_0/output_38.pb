B
H_new_XGVHJuJA
pê@ÒQAbé@