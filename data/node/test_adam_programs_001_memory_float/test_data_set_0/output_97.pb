B
X_new_sameJG–¿{‰ó½¤žÔ>Õ¦7?