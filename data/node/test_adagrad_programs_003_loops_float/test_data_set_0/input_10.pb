B
G_negativeJ”`o?|]z¿Ð
¼? ð°?