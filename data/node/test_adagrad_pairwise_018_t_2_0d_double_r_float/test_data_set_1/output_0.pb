BX_newJ…¿
Sß"A