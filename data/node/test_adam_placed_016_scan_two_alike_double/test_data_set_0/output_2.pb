BV1_newJ ’,ln¬"Ú¿ñHæBqËİ¿
[×õU‹ì¿z5ï2´xå¿