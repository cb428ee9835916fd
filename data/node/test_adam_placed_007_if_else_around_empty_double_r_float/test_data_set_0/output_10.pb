BV3_newJo³
Ö?°Nd!@rè¿