B
X_new_twinJ r)¬>