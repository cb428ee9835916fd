B
X_new_sameJùwtÖ<