BX_new_shared_plainJğ¬¿I™¿
c?lâ¿