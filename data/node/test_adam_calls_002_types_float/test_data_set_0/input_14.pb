BX_3Jdx¿æk¿
yy?