BV1_new_V_secondJ °+[‘¥
ò?(ÓÚSûÖ¿p}%¬ŸË½?æIë,vÄ¿