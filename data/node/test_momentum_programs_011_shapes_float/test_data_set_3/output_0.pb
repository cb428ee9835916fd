BX_new_shapes_1J×@A
ø>×±}?%qÁ¿´ø]¾dÔt¾