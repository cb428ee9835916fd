BX_newJ3WK	4•>¡
ùÍ6€>QÎž{šyT>