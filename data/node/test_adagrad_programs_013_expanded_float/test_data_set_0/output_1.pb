BH_new_X_row_firstJd$@/[?z-Ô@
·S@