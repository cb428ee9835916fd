B
G_negativeJ"‡Њї	GѕгС?‚л»