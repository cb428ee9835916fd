BH_new_turned_1_1JCÑ@­ùS@“%Œ@õ
@