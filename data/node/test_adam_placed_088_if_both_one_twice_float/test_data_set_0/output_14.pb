BX2_new_twin_capturedJ
×þ>à™³¿õÌ¿E›?¶¶š?ÿÎ¡¿