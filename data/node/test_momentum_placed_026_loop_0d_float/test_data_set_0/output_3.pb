B
G_negativeJg,?