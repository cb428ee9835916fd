BH_newJ /_ÝDZÃ<
#ÑqÝLå<ð×xIã<¬k qkÜ<