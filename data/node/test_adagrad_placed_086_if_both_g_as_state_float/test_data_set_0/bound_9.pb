BX2_new_againJ |мвл 
Ч>й'∞[Ь>GШTP1Ј°>Њ°ШsWњБ>