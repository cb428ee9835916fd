BX_new_twin_laterJH
лг
П<