BV2_new_X_lastJ °îS¼y>‡•OuO>¶Ø?·ŒJ‚>Æ‘{€
>