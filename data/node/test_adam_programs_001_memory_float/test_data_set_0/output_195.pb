B
X_new_lateJrtª?‰8á=æ}Ô¾B°1¿