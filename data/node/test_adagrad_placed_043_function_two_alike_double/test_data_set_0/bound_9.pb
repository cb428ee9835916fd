BX1_new_twin_laterJ Å|
ˆÎ—´<àh ?Ó<÷ÌßFtHå<Û®•ëÍ<