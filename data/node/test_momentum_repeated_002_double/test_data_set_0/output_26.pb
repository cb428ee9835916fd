BX3_new_V_lastJ Ê_!×_Îà¿\>bß¿k¾;ÆP
û?AÔDˆœÛ?