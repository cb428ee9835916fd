BX_newJ”[3·

>