B
T_negativeJÿÿÿÿÿÿÿÿ