B
X_new_twinJÞ+¨¿è.Æ>