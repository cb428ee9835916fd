BH5_newJ(Vv?SeÆ A•"7E:A,ïW¤^(A
9ÿ#Ğó@`Ë˜¢ßj"A