BX3_new_twin_negativeJHP0Lj†ü¿î
ÆNØú?