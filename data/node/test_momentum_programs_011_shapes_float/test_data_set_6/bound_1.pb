BX_new_shapes_2J¡ú§9Š­>¿­:ð
»>