BXJdx¿æk¿
yy?Uq¿