B
X_negativeJ|áÙ¿