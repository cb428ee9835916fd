BX15_newJž>NrB[ð?2ÏE
9Lì¿