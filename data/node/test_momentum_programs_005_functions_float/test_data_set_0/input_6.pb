B
X_negativeJƒ¨¿z±å¿MÅ¿o	ü¾