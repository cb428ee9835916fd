BH3_new_H_lastJ'k@K
Á@¨(*@s“@