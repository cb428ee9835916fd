BX_newJé“zº
¦>