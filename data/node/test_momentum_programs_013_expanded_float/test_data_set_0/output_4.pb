B
X_row_readJN;z¾â}ƒ¿