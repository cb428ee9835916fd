B
H_nest_7_0Jnî@r‘ò?4`√?¿WV@