BX1_newJû
Æ?