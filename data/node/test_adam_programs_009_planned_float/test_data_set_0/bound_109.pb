BH_new_scaled_rateJ є•љј«©є>sn—„(Ґ>ј‚Ъ
ў>щщгвa”>