B
X_new_flatJG–¿{‰ó½¤žÔ>Õ¦7?