B
V_negativeJ9Ò	¿“s9>¾ß¾fç}?7Ì¾@¦±¾