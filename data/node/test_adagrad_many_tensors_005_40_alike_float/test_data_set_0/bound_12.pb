BX13_newJK(+s
”>­(L£€y>