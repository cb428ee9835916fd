BX_new_shapes_1J
ǿ