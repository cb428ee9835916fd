BX2_new_laterJ d<Ô‹V²@&–rTè?ókdº½H@
¯	À