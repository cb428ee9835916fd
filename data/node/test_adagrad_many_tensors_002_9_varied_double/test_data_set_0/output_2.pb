BX3_newJ?)%L
ë¿