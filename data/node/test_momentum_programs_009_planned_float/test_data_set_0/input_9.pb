B
G_negativeJù«À?S”?5P?K¿