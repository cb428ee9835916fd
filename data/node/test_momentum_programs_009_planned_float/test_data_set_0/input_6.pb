BG_otherJ'=™¾m°–¿Sç¾‡I
¾