B
X_new_sameJO‹r,Šqð?