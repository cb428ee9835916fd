BH_new_opposite_1J Én)
’L­>2Fˆút:¢>æ±m!J$™>’?Ow~>