B
X_new_sameJคืSX>