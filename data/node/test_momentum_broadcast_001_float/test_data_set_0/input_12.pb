BG_2x3x4_columnJ~æ–¿î¿ÿ
Ú¿