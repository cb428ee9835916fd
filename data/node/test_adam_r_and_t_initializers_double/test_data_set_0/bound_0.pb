BX_newJ æ.¾ZaF\>î2Vnm>ƒXaÖ
c>]æœô8ºL>