BH_new_shapes_2J(½3Ÿç?_¶>d
¿Ž!lª>eRú„ÏŒ>½z›£µ"¨>OË’¢u£>