BX4_new_laterJègz¿
Åh@