BX_newJšSðr
NÐ<ÃÄYèÁ<[*¡cÊ±<