B
G_scalar_2J&É&?