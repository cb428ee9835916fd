BX3_new_twin_negative_ifJpwˆR,
Î<ˆø£ˆ-,Ò<