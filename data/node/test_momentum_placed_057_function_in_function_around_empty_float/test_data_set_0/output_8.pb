BV1_new_sameJb‹?Æö[<
"²¾ï©¿