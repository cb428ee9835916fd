BX_new_2x3_oneJ0DŸM{–>|
EÍr‡‹>fµh|.Ž>Zÿ¤Æd‚>óÕó“V¤†>¾ÁlU>