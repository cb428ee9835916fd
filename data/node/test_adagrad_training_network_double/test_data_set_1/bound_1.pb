BW1_newJ@шsЇIƒ3D>Р%	`ZiD>v¶3р[jD>{H…OZ€D>Ян-
D>Ш±ІSC>$>њ√D>Yѕуд2ЫD>