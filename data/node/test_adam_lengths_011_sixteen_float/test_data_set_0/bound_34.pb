BH3_newJÂ¿
|±>