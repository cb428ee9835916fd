BX5_newJêÌ¥?
5k¿