BV3_newJoï/³¾p;´vóM;Sv;b€
Bz;