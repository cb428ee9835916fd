BH34_newJwC#‡
ã<Uf¢â¾ä<