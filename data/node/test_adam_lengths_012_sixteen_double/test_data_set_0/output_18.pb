BV3_newJ
Ì‡o%˜Ô?