BH_newJ ™tº
ÖV<z{©{„=<‰ë³µDÚW<Þê.mÜÉO<