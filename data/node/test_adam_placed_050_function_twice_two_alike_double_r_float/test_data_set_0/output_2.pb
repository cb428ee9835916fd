BX2_new_sameJ d<Ô‹V²ó¿&–rTØ¿ókdº½Hõ¿
¯ù?