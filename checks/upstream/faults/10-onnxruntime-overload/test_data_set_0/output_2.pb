BsharesJpã>'ÞV>é ±>ÐHö>
a•>M¬h>