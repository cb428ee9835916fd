BH1_new_twin_againJ }©µ“äü@%Èáá	5ì?Zªn
[¥@l¡ÍE!º@