BH_second_attributesJ t§Ф—КB>'¶)®Ъ±>c
d,™ў>К™одQx—>