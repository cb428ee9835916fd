B
X_negativeJβα½ΏwΏΠςΊ?ορΏ