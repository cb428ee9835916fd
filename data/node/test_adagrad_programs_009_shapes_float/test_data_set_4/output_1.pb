BX_new_shapes_2Jr¨Y?eª2¿Ä¥Y?ÏÃ·?¡
¾