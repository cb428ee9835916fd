BV_besideJ4e2¿
±3?A¨¿ÿôh¿