BvvvvvvJaùY¿¢Ç
¿½¾k¿Õ’ù?