BH_new_count_T_nextJ є•љј«©є>sn—„(Ґ>ј‚Ъ
ў>щщгвa”>