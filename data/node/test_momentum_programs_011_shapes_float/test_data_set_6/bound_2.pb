BV_new_shapes_1J—~
Â¾“>