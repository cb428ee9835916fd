BX_newJ '
ªyaF\>uäZÓx>-à)oÖ
c>R—²9ºL>