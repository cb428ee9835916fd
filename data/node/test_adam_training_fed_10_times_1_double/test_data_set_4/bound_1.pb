BX_newJöwƒ.%ÛE>ës
fœ¶D>…{7;æG>