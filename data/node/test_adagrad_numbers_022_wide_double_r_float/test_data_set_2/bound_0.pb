BX_newJ ¨%«à±¤C>Û
rvÅfG>Ç'ÖseF>ÀÏøu%ZJ>