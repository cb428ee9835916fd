B
H_now_keptJ¸|?aÇ> Ÿ‚@©>