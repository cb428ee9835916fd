B
X_row_readJCY¿{wã¿