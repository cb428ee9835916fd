B
V_new_sameJXMû>¶ i=ÿ7[¿—+å¾