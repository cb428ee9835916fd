BV_newJ™$;¿[v¿X
Ÿ?ùbK¿