B
X_negativeJ0Ï¦¿