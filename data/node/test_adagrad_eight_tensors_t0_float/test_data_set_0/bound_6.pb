BX7_newJn
[Ôx>