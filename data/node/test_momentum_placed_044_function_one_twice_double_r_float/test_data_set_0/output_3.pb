BX2_new_laterJ0™l;¯¾L@Î*ûAKÀÏuê¥øÔó¿Ö³ÆZ-“
@~PPd“é¿Bˆ´ıúÀ