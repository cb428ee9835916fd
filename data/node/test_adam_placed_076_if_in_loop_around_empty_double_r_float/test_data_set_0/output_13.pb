BH3_new_negative_if_loopJ 2ˆ ú¿„yn
àÀ2ˆ ú¿„yn
àÀ