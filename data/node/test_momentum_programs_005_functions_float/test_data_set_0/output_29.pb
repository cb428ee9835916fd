BX_new_branchJซ
ฤ?บิว?o?vผ>