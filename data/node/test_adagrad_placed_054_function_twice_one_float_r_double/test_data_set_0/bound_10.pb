BX_new_twin_againJ0+PGp•>WXnP`>ŽÇVöï™>ú
r)“Ù¢>øŽ±¯A’>Ñ]È ·ÄŒ>