BH_newJ8º3EÍ½F?:‡ÍTÚ¾R:jGuIlp:Ì4±õU:þk¶Aæf:áEº(
ºi:wZ²ÊDy: