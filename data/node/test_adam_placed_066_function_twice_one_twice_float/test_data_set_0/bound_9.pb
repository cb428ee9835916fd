BH2_new_negativeJ0NЈBЗЁ>JЋ zЮ7>/
µD™Џ>Б)п		Ў>QВыVВ™>Й‚† Пx>