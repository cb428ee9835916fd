BV24_newJi(
hià£<‰Ä…	uª<