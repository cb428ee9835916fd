B
X_negativeJ@º ?