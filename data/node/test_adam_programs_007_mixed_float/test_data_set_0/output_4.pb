BH_new_float_double_R_1J.T@½aÿ?‡ôZ@k
?