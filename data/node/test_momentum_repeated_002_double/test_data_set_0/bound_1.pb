BX2_new_X_secondJ 
 k€∆<!`∆ÀÔEÁ<Æq‘µì∫Ê<≈…Zﬂ<