B
X4_scalarsJ“7?Yä¾;”¿