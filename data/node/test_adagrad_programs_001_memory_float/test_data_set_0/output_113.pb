B
H_new_flatJZ`@CJ‡@±‘0@„Ú?