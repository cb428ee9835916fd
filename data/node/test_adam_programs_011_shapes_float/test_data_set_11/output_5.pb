BH_new_shapes_2Jà«m@‘Î‡@Yå@ÔÊÝ?i«>¸
?