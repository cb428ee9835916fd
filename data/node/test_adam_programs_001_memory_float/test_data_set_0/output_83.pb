B
V_second_GJ{З_©ПоH╬|8©TЗ:>