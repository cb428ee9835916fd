BV_new_shapes_2J(søÒwmv>¥S¿¾PM~>Zi!ÛÍ”>Pë’
3`€>‰Ç‡ô>