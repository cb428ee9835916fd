BW1_newJ@Gs§QÄ3D>CleZiD>…˜aó[jD>‰¦UUZÿD>ØFÙ	-
D>¢"c¯SC>}*A¿ÃD>Gøì2›D>