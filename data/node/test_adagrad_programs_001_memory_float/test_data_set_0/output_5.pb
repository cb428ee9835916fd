B
H_new_keptJZ`@CJ‡@±‘0@„Ú?