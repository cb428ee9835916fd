BX_newJ ´v`°
£zBõÓvÎglB
ª%S%uBÿ8ÁqG2qB