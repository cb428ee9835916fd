B
H_negativeJ§C¿VB¯¿ö9ÀàÀ