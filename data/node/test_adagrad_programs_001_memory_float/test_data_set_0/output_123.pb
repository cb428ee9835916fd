B
H_new_castJZ`@CJ‡@±‘0@„Ú?