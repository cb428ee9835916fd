BX_newJ πr4*–ξ
=/0	y(|=αk‹SΣ=WgMθαµ=