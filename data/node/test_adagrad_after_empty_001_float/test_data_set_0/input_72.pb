B
H3_scalarsJ
ÉO@