BB1_newJATX¿Ú1='ü%¿±
J?