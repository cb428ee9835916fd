BX4_new_laterJ0‘wºü^ﬂ?lêct_C
¿