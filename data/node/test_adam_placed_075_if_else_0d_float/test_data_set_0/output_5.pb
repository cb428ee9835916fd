B
H_new_twinJ¡Øb?