B
X_negativeJjμεψ?