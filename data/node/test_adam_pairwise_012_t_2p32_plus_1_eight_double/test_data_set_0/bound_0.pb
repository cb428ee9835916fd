BX1_newJ¡±b˜
>