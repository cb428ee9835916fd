BX3_new_againJÞ?אV’E«>עק
»›§€>