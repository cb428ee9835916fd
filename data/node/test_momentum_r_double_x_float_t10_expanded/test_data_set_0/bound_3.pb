BV2_newJ
Šõ†\—>K®cfpd•>Dþˆük>