B	X4_new_ifJ;õC?
°ë¾