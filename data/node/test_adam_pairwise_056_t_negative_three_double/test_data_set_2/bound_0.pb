BX1_newJV¸VMª<
ˆ
Ã<