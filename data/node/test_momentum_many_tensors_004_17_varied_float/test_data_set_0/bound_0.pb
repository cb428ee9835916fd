BX1_newJËJtR
>!OGáœ>