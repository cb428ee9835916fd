B
X_new_sameJüÒD
3TÖ¿