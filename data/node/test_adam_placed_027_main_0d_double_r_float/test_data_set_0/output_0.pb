B
X_new_sameJ|õ!³	ñ?