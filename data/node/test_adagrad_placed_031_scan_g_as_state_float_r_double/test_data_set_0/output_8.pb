BX1_new_twinJHë¼>
Î?ŽêÃ?U©¿