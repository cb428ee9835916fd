B
X_negativeJã˜¢½¡<½´´¡?}ò¨>