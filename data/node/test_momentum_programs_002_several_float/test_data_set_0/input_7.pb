B
X_scalar_1Jѳ?