BH_newJ ¡Ž¡[jò?ÚB	^SH@B^7é@í?cÞjÅ
™ù?