B
X_negativeJv”ø€LÇø”8<øm—?