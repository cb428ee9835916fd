B
H_negativeJN õ¿œ†À¿"„ÀWïÅ¿