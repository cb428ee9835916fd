B
R_negativeJš™™™™™¹¿