B
H_now_readJ¸|?aÇ> Ÿ‚@©>