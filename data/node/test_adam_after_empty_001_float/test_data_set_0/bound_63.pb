BX4_new_scalarsJW๐I3๚‘ค>Iww
โ–>0๋ี๊แตฐ>