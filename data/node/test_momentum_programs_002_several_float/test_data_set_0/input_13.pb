B
X_beside_XJLô?"•M¾ëî¿ŒWX?