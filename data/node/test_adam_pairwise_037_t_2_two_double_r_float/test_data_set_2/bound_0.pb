BX1_newJזיּ!
Eu=ְָ¹/Ê±=zנw.u“=