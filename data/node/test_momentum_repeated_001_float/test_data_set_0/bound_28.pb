BV2_new_V_lastJ °îS¼y>‡•OuO>¶Ø?·ŒJ‚>Æ‘{€
>