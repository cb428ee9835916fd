BX1_new_negativeJ 
;Gxวบ>UYฅ4Ü๙ง>๑๙ฟa3d~>J6กต%N•>