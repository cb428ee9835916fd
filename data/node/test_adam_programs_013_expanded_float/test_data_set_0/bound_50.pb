BH_new_V_column_firstJ þÏÆpL±>o
ð/í‹>õç·m™p—>Ó)Oþ.«>