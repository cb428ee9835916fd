BH_new_H_row_secondJã»ô?¿Õ?7Ò@}
x@