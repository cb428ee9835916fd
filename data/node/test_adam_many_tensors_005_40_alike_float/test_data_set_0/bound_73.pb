BV34_newJš
Wº´ˆ>´ á	d¡z>