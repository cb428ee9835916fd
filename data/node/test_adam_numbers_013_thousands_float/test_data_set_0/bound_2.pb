BH_newJ êw A4q>
Œ}%`qs>?ÇP|Ós>ö~Èy\r>