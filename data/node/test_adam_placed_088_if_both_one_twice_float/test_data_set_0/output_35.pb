BX2_new_twin_againJ
×þ>à™³¿õÌ¿E›?¶¶š?ÿÎ¡¿