BH_newJ Ќgавbuц?>nЅnшґ@KMљс~&
@#∆ё≠†Б@