BHJÊ
P@rA¼?