BH_new_turned_3_1JCÑ@­ùS@“%Œ@õ
@