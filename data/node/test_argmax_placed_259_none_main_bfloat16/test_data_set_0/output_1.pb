B
X_negativeJ€¾