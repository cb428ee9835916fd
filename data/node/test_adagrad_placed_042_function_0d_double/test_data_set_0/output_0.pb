B
H_new_sameJx’V@