BX1_newJ×>h
o¾=