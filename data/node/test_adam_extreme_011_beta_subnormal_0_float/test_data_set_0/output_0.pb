BX_newJ¢Ð£=
Mq¿ë´?h4z¿