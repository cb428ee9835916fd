B
V_negativeJpËš>Ç«¿ð»??“D?