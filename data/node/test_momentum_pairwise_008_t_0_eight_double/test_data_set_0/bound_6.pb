BX7_newJ`ТлД
х”;