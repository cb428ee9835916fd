B
X_negativeJÿşıüşıûü