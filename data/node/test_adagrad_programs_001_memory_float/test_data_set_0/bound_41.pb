BH_secondJ t§Ф—КB>'¶)®Ъ±>c
d,™ў>К™одQx—>