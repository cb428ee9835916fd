B
X_new_noneJRía?ÈÛ4=á\a?TZŠ?‰ë%¿Æ1?