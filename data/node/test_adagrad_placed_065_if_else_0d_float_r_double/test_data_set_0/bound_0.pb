B
X_new_sameJW@Ü<,’>