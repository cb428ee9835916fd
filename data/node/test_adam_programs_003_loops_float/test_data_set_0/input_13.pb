B
H_negativeJí¯¶¿©˜¾¿“µ¸¾"¢%À