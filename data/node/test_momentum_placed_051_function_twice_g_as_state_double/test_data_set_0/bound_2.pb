BX1_new_twinJ s@'Íiî<ÎX˜$é<4ä
9Ía <æ"tßCÓ<