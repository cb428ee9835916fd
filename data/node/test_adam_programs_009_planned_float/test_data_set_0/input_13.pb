B
H_negativeJ<>'À¹Ü¿}
¯¿\ç”¿