B
V_new_twinJ¢F‰ 7JÃ<