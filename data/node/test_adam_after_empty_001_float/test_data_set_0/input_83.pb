B
X2_scalarsJíÞk?