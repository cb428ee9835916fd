BV1_negativeJu“­>0*?½œn¿gù÷>¥“f½ç
?