B
H_new_sameJóÉPiî<