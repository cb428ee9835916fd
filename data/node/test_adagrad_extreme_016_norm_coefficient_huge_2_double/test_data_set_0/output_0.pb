BX_newJ ñ
ÆKo"ÿ¿s;)Tk‡³?†OH^±å¿²¼ïZä¿