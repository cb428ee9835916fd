BX_newJ ќУzwЛґ>ЭЏф_Q,Н>јл2p
TГ>