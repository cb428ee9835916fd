B
H_negativeJmç¿ÚLÍ¿äÆPÀcvÀîSeÀÉÕ]À