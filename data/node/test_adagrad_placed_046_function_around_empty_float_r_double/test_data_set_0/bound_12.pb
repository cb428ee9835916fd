BX3_new_twin_sameJ[ÂV”>
²Îèš>