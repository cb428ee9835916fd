BV_new_shapes_2J0 b B™”>¯ÛM–s)>R´Ù‹iš†>+p8½¨…>Ò^né
—>bð´=
ùz>