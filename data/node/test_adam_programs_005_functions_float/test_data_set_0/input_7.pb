B
X_negativeJÅ©?H0Ö¾¨qğ¿•pù¿