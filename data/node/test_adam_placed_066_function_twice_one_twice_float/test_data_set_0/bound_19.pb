BH2_new_twin_negativeJ0d;IДЃ©°>Ь0ьiЗ›>/
µD™Џ>Б)п		Ў>QВыVВ™>Й‚† Пx>