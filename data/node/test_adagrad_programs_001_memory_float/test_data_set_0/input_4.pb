B
X_negativeJûè¿’ú©¿ù>õšÓ¾