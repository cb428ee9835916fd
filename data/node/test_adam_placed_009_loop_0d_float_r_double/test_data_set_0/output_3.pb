B
V_negativeJMTœ>