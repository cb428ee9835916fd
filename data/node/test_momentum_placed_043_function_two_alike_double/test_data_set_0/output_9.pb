BX1_new_twin_laterJ üYŒp”@Àşòîè
ÀÇ«ĞÀBBï¿¡ejx$²?