BV_new_G_column_secondJ T

£€>­©€<
€>ðõÚ #t>M,"PÜw>