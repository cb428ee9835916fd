BH_newJ Ì$šveó@42mtÂ¬@
„‘Àéã?Of¥io@