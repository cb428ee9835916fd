BX4_new_sameJβC²ά`Γ<¨a
©υα<