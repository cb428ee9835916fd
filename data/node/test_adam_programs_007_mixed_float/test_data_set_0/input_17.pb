B
V_double_2J зг
G█;И©·u─y╘Й©Х╒]rIН?дМыPOп?