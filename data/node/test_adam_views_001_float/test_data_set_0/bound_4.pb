BV_new_X_reversedJ0¶˜MnbÅ>YIõ¢”Ž>)Î)7Ûq>®”˜Ì
„>‹‘Æ¶L„>œ§\åˆ„>