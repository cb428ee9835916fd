BH1_newJ ]8¤Ã”Y™>OÌVF‘>’*o£wt>GS
@•›>