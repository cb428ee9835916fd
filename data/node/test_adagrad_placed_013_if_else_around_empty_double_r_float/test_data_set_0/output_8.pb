BH3_newJ'ÚWÈzYû?W9
ÚiQú?