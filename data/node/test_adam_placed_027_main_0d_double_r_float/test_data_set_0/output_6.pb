B
H_negativeJèÎÉ®(Çû¿