BX_newJ $®‹žm
Ï¿T÷Ð8¸¿s§¢:Lô¿VèF·Jã?