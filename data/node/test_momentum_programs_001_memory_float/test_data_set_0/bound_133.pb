B
V_new_lateJ ╫,Ж≥ы╟>╚S[ЁБi╡>Гvq╝и√>M2CEка╚>