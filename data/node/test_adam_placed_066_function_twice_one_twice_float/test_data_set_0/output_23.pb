BH2_negativeJ,ÚC¿≤Û
¿‘‚ø‚Ru¿NG¿e(ø