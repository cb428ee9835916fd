B
X_new_sameJ›ñºm«ª<