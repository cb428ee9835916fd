BX2_new_twin_againJ Ым;м°
і>ўРЭ“+Ў>§ѕуxRн±>ЄЦв…wЎ>