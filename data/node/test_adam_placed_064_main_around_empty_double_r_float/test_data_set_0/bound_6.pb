B	X4_new_atJ
­…‘L2»<ÔYî1sÍ<