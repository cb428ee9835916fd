BX_newJ‡Aγκ
7D>υZ4B½©>£Έpw·χ*>