B
V4_scalarsJÿó=<E¿‘VG¿