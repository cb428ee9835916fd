BreadJž´L¾¡¿nlƒ¾
a•¾ÐHö¾M¬h¾