B
G2_scalarsJº½Ê¿