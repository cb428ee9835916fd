B#H_new_float_double_float_R_double_1J.T@½aÿ?‡ôZ@k
?