B
X_negativeJ`ãc‰ïç¿