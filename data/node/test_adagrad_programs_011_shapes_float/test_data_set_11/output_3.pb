BH_new_shapes_2J19@g =@Î]d@TëE@õ
n@S5@