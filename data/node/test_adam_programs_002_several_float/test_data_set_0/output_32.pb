BH_new_made_1JCÑ@­ùS@“%Œ@õ
@