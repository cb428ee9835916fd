BX1_new_twin_atJ ³šþ‹Ií<
›A²±Åî<Muæ¾/§Ë<5zy2”‹Á<