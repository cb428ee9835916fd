B
G_negativeJ|îH¾6"Ú¿+ğŸ¿—¼u¾