BX4_new_laterJY7Wá]«Ô<¸tý.Æ
ó<