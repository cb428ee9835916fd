B
X_new_sameJí4÷¼T:’>