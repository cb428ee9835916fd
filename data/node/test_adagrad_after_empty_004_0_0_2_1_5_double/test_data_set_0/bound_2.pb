BX3_newJ
?›—сZН<гЪЇ}TWЛ<