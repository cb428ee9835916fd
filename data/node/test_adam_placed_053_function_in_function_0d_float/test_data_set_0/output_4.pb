B
X_negativeJé%¿