B
H_new_sameJZ`@CJ‡@±‘0@„Ú?