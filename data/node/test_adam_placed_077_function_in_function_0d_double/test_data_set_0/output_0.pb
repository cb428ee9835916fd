B
V_new_sameJà¯~+üÎ?