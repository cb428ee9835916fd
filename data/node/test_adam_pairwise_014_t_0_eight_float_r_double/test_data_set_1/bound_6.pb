BX7_newJÈz¬
È”Á?