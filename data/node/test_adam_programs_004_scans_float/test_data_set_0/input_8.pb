B
V_negativeJ^æÂ>í3_¾+ÿ?.~>