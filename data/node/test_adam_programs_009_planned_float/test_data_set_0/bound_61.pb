BH_new_opposite_aloneJ BШЧ шЁ>FтCqа
©>Р”Б40•>—lD Ѕ$p>