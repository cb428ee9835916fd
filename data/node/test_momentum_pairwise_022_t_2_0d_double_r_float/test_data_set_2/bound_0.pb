BX_newJ
ç|m1à<