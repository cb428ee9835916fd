B
V_new_sameJôoÄ¾Ci¿æŒY¿r‰W½\«<¿Å>