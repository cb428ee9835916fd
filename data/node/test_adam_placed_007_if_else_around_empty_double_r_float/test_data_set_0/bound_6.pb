B	X4_new_atJ‡‹.¾cÖ<§„•¥
x¯<