B
H_new_sameJ¦‰|¿°Ñ<