BH3_new_twin_sameJ
ÙÄ|mn@ %>¹É¦@