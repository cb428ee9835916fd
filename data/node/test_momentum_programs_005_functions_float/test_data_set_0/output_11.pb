B
X_new_zeroJÆQÒ>∫ƒ>Ö:–?‰Å≠ø