BV1_new_G_secondJ °+[‘¥
ò?(ÓÚSûÖ¿p}%¬ŸË½?æIë,vÄ¿