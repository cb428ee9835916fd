BX4_new_twin_negativeJ$rº>=kº>wr™w
²>