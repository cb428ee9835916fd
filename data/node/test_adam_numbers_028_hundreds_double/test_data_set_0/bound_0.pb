BX_newJ 
Ç¡-v5C?zçël·L?;‡±üG?fh¡æâC?