B
H_nest_1_0Jnî@r‘ò?4`√?¿WV@