B
X_negativeJÿÿÿ