BH_newJ fφNΏρυ<Ο -¬€BΫ<p» 1
=ωwu~τ
Β<