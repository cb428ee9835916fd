BH_new_shapes_2J
É @9ob?ƒêª?0"‹@®ì°?