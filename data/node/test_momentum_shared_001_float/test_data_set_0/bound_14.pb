BX_new_XGV_zeroJ F¹5qZ«¤>$à‹
•ð¡>ÁgØò@­>Z5µH{>