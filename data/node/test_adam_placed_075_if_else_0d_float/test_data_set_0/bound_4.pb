B
V_new_twinJ›Êlg¦>