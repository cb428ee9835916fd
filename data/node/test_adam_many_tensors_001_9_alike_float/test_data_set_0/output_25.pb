BH8_newJF©¬?
¾#@