B
H_nest_5_0Jnî@r‘ò?4`√?¿WV@