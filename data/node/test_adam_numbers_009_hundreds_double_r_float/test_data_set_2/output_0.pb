BX_newJ Dæ,„^sÕ?UC	x
`Ú?šæA
Ó?6Y•a%Þ?