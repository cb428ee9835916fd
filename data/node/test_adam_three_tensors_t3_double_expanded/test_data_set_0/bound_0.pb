BX1_newJZ
Y‰g^Æ<ø½Ÿãâ&Ì<