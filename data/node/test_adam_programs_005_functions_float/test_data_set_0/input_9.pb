B
V_negativeJtF<¿¤oÎ½à½T½½F!¿