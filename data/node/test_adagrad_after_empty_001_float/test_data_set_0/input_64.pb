B
X3_scalarsJãì¾