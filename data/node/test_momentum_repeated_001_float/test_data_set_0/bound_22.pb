BV2_new_G_lastJ °îS¼y>‡•OuO>¶Ø?·ŒJ‚>Æ‘{€
>