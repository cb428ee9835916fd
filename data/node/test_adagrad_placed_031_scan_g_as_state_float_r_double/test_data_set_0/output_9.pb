BX1_new_twin_negativeJHë¼¾
Î¿êÃ¿U©?