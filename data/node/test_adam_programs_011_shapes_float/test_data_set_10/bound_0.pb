BX_new_shapes_1J~ËW§w½>5Í
eú¹>