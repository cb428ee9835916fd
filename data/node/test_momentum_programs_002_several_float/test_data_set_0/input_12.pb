B
V_scalar_2J	*>