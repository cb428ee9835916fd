BH_new_twin_later_ifJ0â—6Eúµ>t§ûƒä<Â>¡ ¶ü¼tÌ>®šjÒë±>­¬¡÷_>ÞrNU
¦±>