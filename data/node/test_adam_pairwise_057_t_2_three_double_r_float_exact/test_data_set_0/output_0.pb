BX1_newJã
ÄŠ>•°>ÞjwK{>