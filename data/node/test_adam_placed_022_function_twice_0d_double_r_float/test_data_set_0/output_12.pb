B
X_negativeJz·Ütß÷¿