BH_new_grown_aloneJ h¿:D¯±>FòCqà
©>-E$Ñ>Q½sìŠ-u>