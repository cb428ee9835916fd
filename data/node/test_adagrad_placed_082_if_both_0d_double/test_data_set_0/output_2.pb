B
H_new_sameJ¿«n•4Ô@