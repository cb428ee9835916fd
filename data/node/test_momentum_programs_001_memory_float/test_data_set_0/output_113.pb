B
V_new_flatJXMû>¶ i=ÿ7[¿—+å¾