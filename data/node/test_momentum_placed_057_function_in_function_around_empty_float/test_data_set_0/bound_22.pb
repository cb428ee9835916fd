BX4_new_twinJ$rº>=kº>wr™w
²>