B
V_scalar_1J¬o?