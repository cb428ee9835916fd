B
captured_0Jž´L>¡?nlƒ>
a•>ÐHö>M¬h>