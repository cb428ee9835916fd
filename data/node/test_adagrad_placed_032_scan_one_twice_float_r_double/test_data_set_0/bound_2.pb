BX2_new_capturedJ0;יL>y‚>f
‹˜o&>—נק(±„€>Ýyj†‘>}Tמ‹>\€o_¡v>