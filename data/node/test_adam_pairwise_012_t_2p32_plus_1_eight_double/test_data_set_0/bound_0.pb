BX1_newJÒ5Q±b˜
>