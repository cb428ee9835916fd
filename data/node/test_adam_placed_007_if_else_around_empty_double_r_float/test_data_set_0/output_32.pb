BH1_new_twinJ R¦oEÔð?´ß±Ò?ê=èõ
@Hæ¯Rö?