BV_newJf eU(
Ó>t—Ç|FS¹>«$ÆMOÛ>