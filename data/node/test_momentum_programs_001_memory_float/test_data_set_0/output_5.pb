B
V_new_keptJXMû>¶ i=ÿ7[¿—+å¾