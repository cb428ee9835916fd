B
G2_scalarsJZí?