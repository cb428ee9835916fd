BV_new_X_after_firstJ ÌÂ|qb¤>›¸¥	
¯>M5²ûl«>oz!#ãk±>