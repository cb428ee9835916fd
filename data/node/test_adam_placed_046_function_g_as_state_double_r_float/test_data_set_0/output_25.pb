BH1_negativeJ q%I!Аs•¬
чќАцYІ$]qАРЄўчї