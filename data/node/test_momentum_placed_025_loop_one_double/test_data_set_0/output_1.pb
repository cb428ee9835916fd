BX_new_negativeJ0gºæ0.ı?
hÚL¸çú?wˆ±»Úà¿”Ò?ı˜ı?."h</Pô?seú¯zÒ¿