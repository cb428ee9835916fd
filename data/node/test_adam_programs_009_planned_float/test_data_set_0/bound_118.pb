BH_new_count_TJ є•љј«©є>sn—„(Ґ>ј‚Ъ
ў>щщгвa”>