BH_new_begun_all_readJ є•љј«©є>sn—„(Ґ>ј‚Ъ
ў>щщгвa”>