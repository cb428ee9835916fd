BX2_newJ 5#Œƒ>ãCndej>èHqØ°¬>t°
Kí¥>