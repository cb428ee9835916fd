B
G_negativeJ›{y?J¡t?¶?ä­?ÏN:¾êwý¿