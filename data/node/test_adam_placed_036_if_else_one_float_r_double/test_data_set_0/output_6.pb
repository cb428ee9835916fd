B
H_negativeJºÕ™¾3!¿ãsî¿œbÀQoÀ\
GÀ