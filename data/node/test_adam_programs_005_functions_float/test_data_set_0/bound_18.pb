B
H_new_zeroJ òk§æ³Éµ>QcQ'†—>^ºñ"ŽÉ¨>D‘Y”I‹¡>