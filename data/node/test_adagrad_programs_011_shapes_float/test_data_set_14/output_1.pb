BX_new_shapes_2JvN´¿s¨”?ñ
B?