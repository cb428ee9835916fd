BH1_newJ ò®œ'’>OÌVF‘>’*o£wt>GS
@•›>