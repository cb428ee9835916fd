BH1_new_laterJ ¸^æeÀ™´ª¬£?À—™™f	
ÀfÙq£$¼À