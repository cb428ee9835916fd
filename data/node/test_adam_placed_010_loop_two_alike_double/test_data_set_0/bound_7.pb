BV2_new_negativeJ 53¿*51»<é‰&´²<Ö
ñ4YÂ<ðLDÅuÄ<