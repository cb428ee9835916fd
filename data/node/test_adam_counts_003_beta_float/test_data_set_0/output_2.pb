BH_newJŸö@a±A×Ö
B«mA