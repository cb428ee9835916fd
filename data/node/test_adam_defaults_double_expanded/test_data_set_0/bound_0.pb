BX_newJ D
xRû©=m‘/¬¾Æ<Né‡ï½=òç‘tåSÑ<