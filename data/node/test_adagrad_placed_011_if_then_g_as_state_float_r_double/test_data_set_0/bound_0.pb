B	X1_new_ifJ §ÝÂÍAyŒ>C3EB´
‘>nþ¿C³€>C;œ;Pª‡>