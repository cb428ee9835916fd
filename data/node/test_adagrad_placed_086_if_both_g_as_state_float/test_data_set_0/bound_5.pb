BH1_new_laterJ !@àjµIæ>£*!¥#Æ>}RP
6Ë>1Ð•ys·>