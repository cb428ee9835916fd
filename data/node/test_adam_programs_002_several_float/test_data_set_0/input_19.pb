B
H_beside_XJÅ?ª^@®ú?&´r@