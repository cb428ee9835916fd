B
V3_scalarsJашµ>