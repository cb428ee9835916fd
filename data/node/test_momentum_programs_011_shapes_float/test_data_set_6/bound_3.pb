BV_new_shapes_2J°¢[8‘>
0µÀ½>