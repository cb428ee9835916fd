B
X_new_sameJÞÈñOR…>