BX1_newJ«€x€rÐ
>