BX_new_GH_zeroJ
g«»Ý[®¿{˜’¿§oä>