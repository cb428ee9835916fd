B
X_scalar_1Jõ3‹¿