B
X_new_castJG–¿{‰ó½¤žÔ>Õ¦7?