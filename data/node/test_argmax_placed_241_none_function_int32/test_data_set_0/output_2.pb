B
X_negativeJÿÿÿÿÿÿÿÿÿÿÿÿ