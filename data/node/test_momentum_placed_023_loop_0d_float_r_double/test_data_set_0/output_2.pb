B
G_negativeJßþ>=