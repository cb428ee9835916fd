BX_newJ
H╘,ехC>rц$Йo{B>Л5≈└ЭE>