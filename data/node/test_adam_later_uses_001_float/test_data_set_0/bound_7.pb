BX_new_secondJ wîÎ,´¬>ä¤*¶>s½’=w—>F
Ð¿¨²>