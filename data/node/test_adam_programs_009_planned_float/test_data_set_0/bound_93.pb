BH_new_turned_1J Én)
’L­>m*›,¯¤>²»]–>’?Ow~>