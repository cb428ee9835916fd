BV2_new_twinJ0QD]Ä$Ü<wÄÚÈºË<„w¦DeÜ<V(Oƒ»”Æ<yZ~wã<K’
dÑ<