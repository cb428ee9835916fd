BX_new_scalarsJ0ÿ3Y»ù¿~KF
üý?ùhßJæ¿.LfHú¿ö ˆˆý¿nóy!Aæ¿