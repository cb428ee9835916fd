BX4_new_twin_atJ
­…‘L2»<ÔYî1sÍ<