BH_state_negativeJ0˜ƒ?‰&
ÿ¿´µ³‚¿PÀØ,ŞÍ5ìÓ¿¾ÏÇsã¨À»jqX­Àh»!Š<–è¿