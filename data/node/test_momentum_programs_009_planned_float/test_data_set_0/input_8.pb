B
X_negativeJ$×¼¿#7N>¦6î?éz9¿