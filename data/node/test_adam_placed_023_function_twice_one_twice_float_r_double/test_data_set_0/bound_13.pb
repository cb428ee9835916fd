BX2_new_againJ0f\+Z•>µnßñÙ£›>l›æ—i¾Š>µ†jv§™>‰N
^H†—>LÈˆ}¿hŽ>