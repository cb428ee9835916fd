B
X_new_sameJlş2æ†Ä¿