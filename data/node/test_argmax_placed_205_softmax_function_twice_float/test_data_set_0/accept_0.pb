	B
index_sameJ