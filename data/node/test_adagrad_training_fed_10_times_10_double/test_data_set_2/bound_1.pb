BX_newJ'ŒQæU>k©g
2[>C €B†ÍU>