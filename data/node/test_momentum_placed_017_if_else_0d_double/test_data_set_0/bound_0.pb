B
X_new_sameJR˜ÿÔ‚²<