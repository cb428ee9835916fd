B
H_new_noneJü9S@ÄD¥@¨'–@ØQ@‹Ëæ?ùa"@