BV1_new_twinJ ’,ln¬"Ú¿ñHæBqËİ¿
[×õU‹ì¿z5ï2´xå¿