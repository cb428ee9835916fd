BV1_new_X_secondJ °+[‘¥
ò?(ÓÚSûÖ¿p}%¬ŸË½?æIë,vÄ¿