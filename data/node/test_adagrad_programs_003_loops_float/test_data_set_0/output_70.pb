BG_left_swappedJ”`o¿|]z?Ð
¼¿ ð°¿