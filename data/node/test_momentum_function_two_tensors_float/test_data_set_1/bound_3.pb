BV2_newJ AJВс≥щ┐>%Б{ЁЛJ┤>IФMЧuщ⌠>ё
lvХS░>