BX4_new_sameJ\¢Tç®uâ?ú—:Ãû
ã?