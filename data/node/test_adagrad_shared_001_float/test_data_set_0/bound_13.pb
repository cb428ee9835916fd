B	H_new_XGHJ ”õUæ´4“>q»›™™§ >ôÎyl_¬Ð>úáa
fÈ>