BV2_new_twin_negativeJ0QD]Ä$Ü<wÄÚÈºË<„w¦DeÜ<V(Oƒ»”Æ<yZ~wã<K’
dÑ<