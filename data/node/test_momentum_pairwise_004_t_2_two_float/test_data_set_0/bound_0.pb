BX1_newJws)╔
│>Пbl╟%ё>РmдуN:▓>