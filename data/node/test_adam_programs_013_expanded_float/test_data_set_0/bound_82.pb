BH_new_V_scalar_firstJ þÏÆpL±>o
ð/í‹>õç·m™p—>Ó)Oþ.«>