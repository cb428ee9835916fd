B
V_negativeJ³T>íNl>ü¿d?Éaa¿