B
G_beside_XJ2?*?Ãhþ?Î(õ¿	Ýe¿