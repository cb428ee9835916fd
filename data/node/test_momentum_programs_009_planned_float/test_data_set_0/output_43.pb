BV_new_scaled_aloneJ[¤ΎάφΏ
=ντ¬Ύ