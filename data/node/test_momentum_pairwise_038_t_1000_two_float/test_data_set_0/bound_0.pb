BX1_newJO‡~n©„	>>aÿËÈLˆ>ÚDl›Åª
?