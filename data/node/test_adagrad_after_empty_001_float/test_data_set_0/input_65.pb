B
X4_scalarsJY2ß¾Ïí¿›T€¿