BH_new_H_row_firstJã»ô?¿Õ?7Ò@}
x@