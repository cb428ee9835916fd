BH_new_next_countJ є•љј«©є>sn—„(Ґ>ј‚Ъ
ў>щщгвa”>