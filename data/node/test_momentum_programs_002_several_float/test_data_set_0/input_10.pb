B
X_scalar_2JÛˆ¿