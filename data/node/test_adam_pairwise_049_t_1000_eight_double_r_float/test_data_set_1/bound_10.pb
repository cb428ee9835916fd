BV3_newJ¬Œá½k;Jójnu;b€
Bz;