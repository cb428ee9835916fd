BH_newJ’ƒR
üSÕ;