B
V_new_sameJטה¬üףס?