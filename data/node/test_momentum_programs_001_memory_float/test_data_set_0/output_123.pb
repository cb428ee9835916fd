B
V_new_castJXMû>¶ i=ÿ7[¿—+å¾