B#X_new_float_double_float_R_double_3J Щ
›ЮЩі©>ю’кGёЁ>MO:7™Y§>ьoбxvo±>