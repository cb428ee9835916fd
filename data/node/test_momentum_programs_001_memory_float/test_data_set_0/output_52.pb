B
X_second_XJ¹lÖ¿šW@ñp¿·'£?