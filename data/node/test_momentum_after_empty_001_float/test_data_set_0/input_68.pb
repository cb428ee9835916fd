B
G3_scalarsJŒa¨¿