BX6_newJ¿
£q¿