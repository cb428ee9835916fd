BX2_newJ М■y°F
P>╨jsГ1aP>'OIшиPW>;╣NRZ>