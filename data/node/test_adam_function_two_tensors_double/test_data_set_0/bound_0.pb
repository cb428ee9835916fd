BX1_newJvul?¡<SÃ
²]%‘<