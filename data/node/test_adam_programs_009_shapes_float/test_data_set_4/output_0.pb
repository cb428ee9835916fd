BX_new_shapes_1J╘с©нец©╒	O©ио┘?I
╬┴J╚?