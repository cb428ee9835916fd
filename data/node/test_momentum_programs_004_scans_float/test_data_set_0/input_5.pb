B
X_negativeJ`€ù¿is¿Ùì?%Kð>