BX_newJ µôD
qx‘>;®Ç=’>Ùœ‹™è2’>ÚNQ•VS‘>