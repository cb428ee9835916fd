BX_newJ øaõ¿÷¼kþˆö?Ä
CjÃò?Yy´C@Vá?