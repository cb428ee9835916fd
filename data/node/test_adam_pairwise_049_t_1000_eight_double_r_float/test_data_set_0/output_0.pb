BX1_newJ
Èao1Ñµ¾