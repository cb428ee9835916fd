B
X_new_sameJºc°ƒCVY>