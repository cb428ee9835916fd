B
H_nest_3_0Jnî@r‘ò?4`√?¿WV@