B
V3_scalarsJM@¿