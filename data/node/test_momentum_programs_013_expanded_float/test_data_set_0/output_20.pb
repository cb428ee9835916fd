BX_new_X_column_secondJWэ╚=,▒Ы>к
╨╛Бо╛