B
X_negativeJ>ÔX?Ì©
¿µ?ý3ï¿