B	X2_new_ifJ mXC„
ÇÙ?sòw!î¿9¤Vpcã¿w5Eí(ã?