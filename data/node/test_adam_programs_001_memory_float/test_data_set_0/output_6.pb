B
X_new_keptJG–¿{‰ó½¤žÔ>Õ¦7?