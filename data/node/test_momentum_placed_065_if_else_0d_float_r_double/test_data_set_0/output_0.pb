B
X_new_sameJּד.>