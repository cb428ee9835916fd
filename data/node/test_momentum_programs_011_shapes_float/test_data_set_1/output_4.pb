BX_chosenJ
ǿ