B
X_new_lateJgì¿Ø­¿{Lþ>-Û¾