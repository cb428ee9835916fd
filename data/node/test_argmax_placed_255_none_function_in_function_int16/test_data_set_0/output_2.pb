B
X_negativeJþÿÿÿþÿ