BH_new_V_row_secondJ þÏÆpL±>o
ð/í‹>õç·m™p—>Ó)Oþ.«>