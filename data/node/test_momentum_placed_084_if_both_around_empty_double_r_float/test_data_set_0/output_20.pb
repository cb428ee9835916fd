BX1_new_twin_againJ (zÒj_§à?™ß*
mú?ĞïéÊAò¿°”2³C£ı¿