BH_new_shapes_2J™r
@G²@¹vP@,û?«³–@