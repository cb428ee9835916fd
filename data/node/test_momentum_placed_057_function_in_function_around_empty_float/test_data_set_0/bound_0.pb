BX1_newJ 
;Gxวบ>UYฅ4Ü๙ง>๑๙ฟa3d~>J6กต%N•>