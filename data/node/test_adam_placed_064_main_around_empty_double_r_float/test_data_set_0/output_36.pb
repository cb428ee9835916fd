BH1_negativeJ —'ύKaζΐήÒίγREχΏΛ-ά`#
ΐΒ¦‚QΣaψΏ