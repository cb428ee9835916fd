BV_new_G_reversedJÉ£W? ø<
³Ë¾!pÑ¾yd?:ï?