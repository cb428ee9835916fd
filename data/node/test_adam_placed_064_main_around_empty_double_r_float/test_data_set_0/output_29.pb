BH3_new_twin_laterJ
ÙÄ|mnÀ %>¹É¦À