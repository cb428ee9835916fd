B
X_new_sameJ“02+÷?