BH3_new_negativeJ'ÚWÈzYû¿W9
ÚiQú¿