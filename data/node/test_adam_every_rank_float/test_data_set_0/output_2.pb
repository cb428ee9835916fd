BX3_newJUÄ¿ýq?q
œ¾ºH ?