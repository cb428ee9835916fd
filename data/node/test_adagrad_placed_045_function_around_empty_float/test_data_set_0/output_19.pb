BG4_negativeJ´
¬¿ûx—¿