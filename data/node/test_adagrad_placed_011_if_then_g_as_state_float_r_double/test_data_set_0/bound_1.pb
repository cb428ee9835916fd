BX1_new_negative_ifJ §ÝÂÍAyŒ>C3EB´
‘>nþ¿C³€>C;œ;Pª‡>