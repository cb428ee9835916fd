B
X_beside_HJÚï?ÓJú?Qe¿:¬?