BX_newJÔÿý_¼>Q@—t±y>
g5Ï4q>