BX26_newJÔ¡´fxNÄ<¢
³iBæ<