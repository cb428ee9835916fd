B
V_negativeJ¤?Ã=9š#¿%ï{>4¥¿¾