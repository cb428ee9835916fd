BV_new_G_column_firstJ T

£€>­©€<
€>ðõÚ #t>M,"PÜw>