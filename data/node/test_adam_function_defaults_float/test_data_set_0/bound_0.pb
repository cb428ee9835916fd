BX_newJ░Bz╩#Ма>иKa
4HТ>J x/lчЛ>