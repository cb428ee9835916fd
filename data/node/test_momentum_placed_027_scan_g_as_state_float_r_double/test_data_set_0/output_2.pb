BX2_new_sameJçã?|
õº]D-?kc?