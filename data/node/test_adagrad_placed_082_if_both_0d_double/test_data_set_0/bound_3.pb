BH_new_laterJ‚"4
µ»ì<