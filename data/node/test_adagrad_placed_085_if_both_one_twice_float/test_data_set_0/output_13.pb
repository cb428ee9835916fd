BH1_new_twin_negativeJ÷«X¿
¿:›G¿úZX¿Ÿ≤ò¿É∂¡¿