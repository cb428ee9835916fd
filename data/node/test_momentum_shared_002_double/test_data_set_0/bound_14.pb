BX_new_XGV_zeroJ üz®A9CÁ<uÓÞ†½ÇÓ<7
Ó¥<-¢ÌæüOÝ<