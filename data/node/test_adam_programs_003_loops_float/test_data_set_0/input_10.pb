B
X_negativeJÅÁ?Râ^æ)∞ø1≠·?