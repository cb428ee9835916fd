BH_new_X_row_secondJd$@/[?z-Ô@
·S@