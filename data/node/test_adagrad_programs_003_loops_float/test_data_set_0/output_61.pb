BG_made_readJ”`o?|]z¿Ð
¼? ð°?