BX_new_shapes_2J.Ð¿¿XÕ¿Î‘
?|éo?¸ßç?