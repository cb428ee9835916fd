B
G3_scalarsJs=¿