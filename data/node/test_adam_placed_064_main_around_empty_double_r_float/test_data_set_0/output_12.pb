BH3_new_sameJ
ÙÄ|mn@ %>¹É¦@