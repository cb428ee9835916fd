BX_rearrangedJ	
