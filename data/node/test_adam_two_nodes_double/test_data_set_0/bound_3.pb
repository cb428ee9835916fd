BX2_newJ ýaT£F
P>¿6¢2aP>€¹FâÉPW>]
ö.NRZ>