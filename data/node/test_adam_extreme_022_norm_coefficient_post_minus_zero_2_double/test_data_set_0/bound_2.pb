BH_newJ ,YÿRîƒÅ<vMI±ä<qşİ‘Ó<R‰›<
 <