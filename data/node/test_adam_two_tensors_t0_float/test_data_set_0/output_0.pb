BX1_newJl¹?	
B=ãá½