BV_newJ Op¥KUt>v/¥
}>¨MC¡Ÿå‡>auðÆ}€>