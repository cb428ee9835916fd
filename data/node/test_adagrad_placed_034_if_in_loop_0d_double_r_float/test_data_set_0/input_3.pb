BH_rearrangedJ´)W9
µñ?