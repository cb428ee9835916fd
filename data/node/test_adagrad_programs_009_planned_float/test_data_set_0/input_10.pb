B
H_negativeJ½ N¿°Þ=ÀÀº/‰¾