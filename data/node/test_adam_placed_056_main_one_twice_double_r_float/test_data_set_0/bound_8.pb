BX1_new_twin_sameJ0iћl5ЎTC>ђЋX@YR>ІA&тi8V>ЋэWои0>0ьЉWWЖN>/№1”џ
1>