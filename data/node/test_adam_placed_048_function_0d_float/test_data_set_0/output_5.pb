B
X_new_twinJÓn¿?