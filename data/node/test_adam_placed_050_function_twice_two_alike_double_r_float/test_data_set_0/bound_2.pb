BX2_new_sameJ pâq
z?^>\”kU|L>¿¾Í93>>ÇVì„y1>