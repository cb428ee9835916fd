BH2_new_twin_againJ0NЈBЗЁ>JЋ zЮ7>/
µD™Џ>Б)п		Ў>QВыVВ™>Й‚† Пx>