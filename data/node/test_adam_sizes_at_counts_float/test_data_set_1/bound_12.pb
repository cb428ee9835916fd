B	V1_new_atJX
0¹1UÛŠ>
0¹1UÛŠ>_Œ"fƒŒ>PxÎANÝŠ>ŸaáÝè¦‡>wš§àao>xLêPìÁ„>Êã`›oód>Æ‰Pœé>F”ONšœƒ>«¸éb—>