BV_newJiro+î›c=4@Gô
q4=ßµÛaapw=