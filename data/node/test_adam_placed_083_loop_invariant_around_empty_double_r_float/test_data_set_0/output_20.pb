BX3_new_twinJHP0Lj†ü?î
ÆNØú¿