BX_new_continued_RJÝÜ'?d–£¿
ø?Ô$›>