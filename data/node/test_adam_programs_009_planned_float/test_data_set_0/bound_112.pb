BH_new_count_noneJ є•љј«©є>sn—„(Ґ>ј‚Ъ
ў>щщгвa”>