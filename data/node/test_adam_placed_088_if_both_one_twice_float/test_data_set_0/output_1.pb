BX1_new_laterJ£#Y¿”Ò1@.g=@
;}¿´$ÀUD @