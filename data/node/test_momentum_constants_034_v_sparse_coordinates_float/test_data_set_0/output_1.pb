BV_newJ
Ø<?