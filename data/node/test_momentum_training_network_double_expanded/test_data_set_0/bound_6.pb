BV_B1_newJ ΘΪzyυ0ΰ<'σj”Rσ
=…ÿ®_2φω<xoEΛ7ώ<