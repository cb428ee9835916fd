BH1_new_twin_negativeJ R¦oEÔð¿´ß±Ò¿ê=èõ
ÀHæ¯Rö¿