BX_newJ æ.¾ZaF\>j#Æsm>ƒXaÖ
c>]æœô8ºL>