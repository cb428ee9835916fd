B	H1_new_atJ æ
VMku4>~—	M9>nµ6A¡³E>‡amŒ&>