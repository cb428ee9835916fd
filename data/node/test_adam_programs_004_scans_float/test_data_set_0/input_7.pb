B
G_negativeJÉ1ë¿¶u~¿ƒ§?9,?