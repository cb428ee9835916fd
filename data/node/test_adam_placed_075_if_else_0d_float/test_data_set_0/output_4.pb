B
V_new_twinJ›ƒ>?