BX3_new_captured_if_loopJ oÇ
eá?oéá/‰ö¿oÇ
eá?oéá/‰ö¿