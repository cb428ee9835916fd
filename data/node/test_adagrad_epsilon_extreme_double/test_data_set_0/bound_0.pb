BX_newJ &Ðš½PÀ<X6o}nŒ·<$ç?SG¹³<pØÐZ
½<