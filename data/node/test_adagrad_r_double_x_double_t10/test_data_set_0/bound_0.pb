BX1_newJ‡OÕ°§
>