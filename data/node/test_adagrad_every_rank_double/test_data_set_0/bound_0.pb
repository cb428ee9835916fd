BX1_newJ
¥ÑW£	¹<