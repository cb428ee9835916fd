B
H_new_sameJv­]@óBð?Ê¬?sJ@©{¼?@