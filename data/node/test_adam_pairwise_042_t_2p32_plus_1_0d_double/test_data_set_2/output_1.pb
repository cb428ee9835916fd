BV_newJ
@\ Ð5A