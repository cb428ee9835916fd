BV_newJ•™¸>v:Ó>RÚå
BŒ³>vãrw|`Ó>