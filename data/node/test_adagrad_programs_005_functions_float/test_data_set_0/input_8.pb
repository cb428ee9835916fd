B
H_negativeJq=ÀCyÀ«/y¿?´c¿