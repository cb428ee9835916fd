B
H_negativeJ[l[¿kPy¿Òlv¿Jæ¿§∆æ%{¿