B	H3_new_atJ …Œ³³>ßLú 
v§>