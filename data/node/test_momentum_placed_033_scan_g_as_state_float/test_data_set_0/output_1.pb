BX1_new_laterJ­sÎ<:ÇÑ¿Î
€@Ú»1@