BH_new_double_float_R_2J.T@½aÿ?‡ôZ@k
?