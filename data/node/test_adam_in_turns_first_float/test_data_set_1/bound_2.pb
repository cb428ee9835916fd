BH_newJ B¾'¨
>?àTJe >v	£„°¬>‹²¬Gs£>