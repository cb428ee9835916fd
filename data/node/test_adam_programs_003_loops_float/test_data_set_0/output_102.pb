BG_left_swappedJ];¿|˜¯¿Sc?¿Ž
ü?