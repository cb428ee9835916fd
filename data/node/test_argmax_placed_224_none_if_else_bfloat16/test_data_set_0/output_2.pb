B
X_negativeJ€¿€¿€¿