BV_newJ‰
ύκ6<