BX1_new_twin_againJ s@'Íiî<ÎX˜$é<4ä
9Ía <æ"tßCÓ<