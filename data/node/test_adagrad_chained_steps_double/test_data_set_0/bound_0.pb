BX_newJ YHÜ
‘„;>Ž\x.9>Ñ5ùBJ“A>o»¡Y„p&>