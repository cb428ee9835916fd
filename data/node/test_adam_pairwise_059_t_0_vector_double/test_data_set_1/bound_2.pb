BH_newJ8тQ:mЁ<?e╩фzй┐ >ЛoC.Б╒H?╔Ї$ющBс>О{╤jпB?< Еb°│C?ъЎYq
6?