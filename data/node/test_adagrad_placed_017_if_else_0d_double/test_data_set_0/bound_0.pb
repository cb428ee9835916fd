B
X_new_sameJG ¿Ú0*É<