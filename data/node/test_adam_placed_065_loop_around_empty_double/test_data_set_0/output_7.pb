BX4_new_laterJ\¢Tç®uò¿ú—:Ãû
ó¿