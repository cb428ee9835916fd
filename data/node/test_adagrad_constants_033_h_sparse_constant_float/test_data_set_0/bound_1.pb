BH_newJ×€
jP“>