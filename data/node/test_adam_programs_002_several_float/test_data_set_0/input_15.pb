B
H_scalar_2J´–´?