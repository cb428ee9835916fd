B
V_negativeJ`Ét§—È¿