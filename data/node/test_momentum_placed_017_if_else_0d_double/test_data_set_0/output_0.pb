B
X_new_sameJ5	ñ£P(À?