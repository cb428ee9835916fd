B
G_double_2J Œä‚DËpù¿€7%[w… ¿P<?G&GÒ¿°ïUÆþpÅ¿