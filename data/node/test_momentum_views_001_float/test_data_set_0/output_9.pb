BV_new_G_cubeJ mïÑ¾bo?l¿¿"‘€?ŽÛ¾
j?á¦Ô>ÍX'?