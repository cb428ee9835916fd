B
X3_scalarsJH0’¾