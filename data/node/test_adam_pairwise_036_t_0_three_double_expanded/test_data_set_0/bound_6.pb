BH1_newJ;‹øXC,:ôÉ¬Ûa
B: