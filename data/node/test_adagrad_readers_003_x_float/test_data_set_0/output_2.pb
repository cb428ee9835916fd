B
X_negativeJƒ>->«á…¿RV¾€ÈÚ¿ß¹?ÅnU¿