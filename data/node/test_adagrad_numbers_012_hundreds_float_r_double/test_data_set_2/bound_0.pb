BX_newJ §4ײ₪ֶױ
Bּ‎9&§Bi	ששBX£`6JתB