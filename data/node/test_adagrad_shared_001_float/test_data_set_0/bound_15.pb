BH_new_XGH_zeroJ ”õUæ´4“>q»›™™§ >ôÎyl_¬Ð>úáa
fÈ>