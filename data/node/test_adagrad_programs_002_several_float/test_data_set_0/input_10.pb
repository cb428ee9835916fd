B
X_scalar_2JG¡Ð¿