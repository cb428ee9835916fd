BH_newJ
¤'@œ¸Z@Ö,k@jñ@