BX3_new_twin_later_ifJ Jæ·
À¡ã4ËÚ?