BW1_newJ@­JKÄ3D>Fð–aZiD>PåGð[jD>K7ÉUZÿD>ŠPÄ-
D>õCªSC>Æ‹¯D¿ÃD>Xç2›D>