BX2_newJ§
h?e¢
?MRßæ”Ùßæ