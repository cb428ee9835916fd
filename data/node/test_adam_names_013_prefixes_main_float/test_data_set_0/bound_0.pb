BvvvvvvvJ Mó´"³>GF!hm®>²Q%µ‡
£>Œ×U½ô¤>