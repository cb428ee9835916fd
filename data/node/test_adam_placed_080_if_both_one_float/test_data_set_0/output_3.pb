BX_new_againJ;7¿a
½¥HÜ¿¨Îô?[¯¿ m­?