BH_new_turned_2_1JCÑ@­ùS@“%Œ@õ
@