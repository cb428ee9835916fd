B
T_negativeJþÿÿÿÿÿÿÿ