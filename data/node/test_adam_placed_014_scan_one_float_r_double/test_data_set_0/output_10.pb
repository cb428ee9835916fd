B
H_new_twinJ%þö?W+n@“”@gw@…Þ¡?â¿?