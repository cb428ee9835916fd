BH2_new_twin_laterJ “©X[©·>ª\r…œó°>T$ð”óR˜>±
sOÀ>