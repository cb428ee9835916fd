BV_newJCð
?Qy*¿lY=y+?