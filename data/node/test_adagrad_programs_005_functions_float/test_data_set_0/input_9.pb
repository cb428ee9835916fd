B
R_negativeJмлл╫