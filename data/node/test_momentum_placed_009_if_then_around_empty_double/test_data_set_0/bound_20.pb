BX3_new_twin_ifJpwˆR,
Î<ˆø£ˆ-,Ò<