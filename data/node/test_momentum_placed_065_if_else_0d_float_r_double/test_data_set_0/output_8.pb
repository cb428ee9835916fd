B
V_negativeJÑ‰T½