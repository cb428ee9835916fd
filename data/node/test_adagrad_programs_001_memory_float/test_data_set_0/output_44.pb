B
X_second_RJÕáà>"ÑŸ¿p]
¿V¾Œ=