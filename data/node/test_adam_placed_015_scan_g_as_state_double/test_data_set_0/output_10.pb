BX2_new_twin_atJ ¹á
r?ò¿3cNÄ<ÚÅ? (ƒX#êö¿¬¸¬…~Rû?