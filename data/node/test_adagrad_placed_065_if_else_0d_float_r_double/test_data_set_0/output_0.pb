B
X_new_sameJ„—o?