BX_newJ gxK²ú˜@õ,û«•s£@ª^t»Y!–@G;
Ûkj¨@