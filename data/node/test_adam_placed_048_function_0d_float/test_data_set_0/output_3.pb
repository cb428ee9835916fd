B
H_new_sameJ_۸?