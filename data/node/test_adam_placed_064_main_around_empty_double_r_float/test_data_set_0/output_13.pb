BH3_new_laterJ
ÙÄ|mnÀ %>¹É¦À