BX2_newJ Eê
T€Oj;ïüKåQz;ù“E>Æûz;ñÂ5+í]k;