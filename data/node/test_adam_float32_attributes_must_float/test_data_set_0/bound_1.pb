BV_newJ Òc
-½At>\Ã›AÇ“‡>`õfeÕz>ÂEÞ½HZt>