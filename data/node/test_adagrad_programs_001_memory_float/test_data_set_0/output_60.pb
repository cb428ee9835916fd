B
X_second_HJX?é>DAÃ¿“Þ¾õ•>