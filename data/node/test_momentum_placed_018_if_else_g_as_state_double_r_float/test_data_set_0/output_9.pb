BX1_new_twin_negativeJ /l™\¯ í¿ÙJà
=Î¿†tõÔøû¿(Ä$” ñ¿