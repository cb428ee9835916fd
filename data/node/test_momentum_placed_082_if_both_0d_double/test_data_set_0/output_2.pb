B
V_new_sameJŸ”êsä(ÿ?