B
H_new_lateJ 6/†8mó±>rLeö-q’>¸ÎLÒöÞ¤>ð»Ç¢”¢>