BH1_newJ³k+
Ô¾x=