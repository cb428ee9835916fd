BH4_negativeJÐt“^æ]ç¿Õn:•F
À