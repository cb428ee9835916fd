B
V_new_sameJó0¤É]ƒ>