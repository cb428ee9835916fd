B
H_new_lateJ Z„À©œÁ>Ù‘C-Åô´>Dªø’ >ú]cPl‘>