BX1J¼oNf
ý'Á