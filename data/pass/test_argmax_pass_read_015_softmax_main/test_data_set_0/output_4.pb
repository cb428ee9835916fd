BYJž´L>¡?nlƒ>
a•>ÐHö>M¬h>