BH1_new_negativeJ÷«X¿
¿:›G¿úZX¿Ÿ≤ò¿É∂¡¿