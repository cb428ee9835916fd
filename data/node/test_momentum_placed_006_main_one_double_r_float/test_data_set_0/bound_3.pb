BX_new_twin_sameJ0^#.ZöYÎ<iI…\Î<Ìœ4Z}Ñ<9
ç‹Ã<ÿ*¼år×Ä<íÃÎfZHÄ<