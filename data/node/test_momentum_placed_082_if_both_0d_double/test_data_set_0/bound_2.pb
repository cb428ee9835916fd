B
V_new_sameJól…	¦<