BV1_new_twin_laterJþ\¿0ÿó¾
4c¿×¥È½