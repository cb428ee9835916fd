B
captured_1Jž´L>¡?nlƒ>
a•>ÐHö>M¬h>