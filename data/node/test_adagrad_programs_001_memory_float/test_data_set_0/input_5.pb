B
G_negativeJßØ¾G¿Y=äb?