BV2_newJ
àG›‘K²<