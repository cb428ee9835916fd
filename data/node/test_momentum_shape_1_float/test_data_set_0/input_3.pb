BGJ
Ùl?