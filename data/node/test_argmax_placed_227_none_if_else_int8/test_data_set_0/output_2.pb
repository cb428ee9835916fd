B
X_negativeJýüÿþýþ