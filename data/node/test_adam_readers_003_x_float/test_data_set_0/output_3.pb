B
X_negativeJ]‚?(Õš?†X§?ÙÄÇ?p¿ÅŽ†»