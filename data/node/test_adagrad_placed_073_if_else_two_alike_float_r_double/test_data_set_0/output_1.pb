BX1_new_negativeJñ)¿ß|?
 I½Å•8¿