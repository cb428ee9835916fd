BH_new_twin_later_ifJ0•4©;Ü°>LoöÐ³»>&`÷äÄ>Kê,ˆ¨>­¬¡÷_>ÞrNU
¦±>