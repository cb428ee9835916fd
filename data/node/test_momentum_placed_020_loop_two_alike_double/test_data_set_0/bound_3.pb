BX2_new_laterJ E
'”ë<¶-ë$Ôç<SFXõGá<`úA¨Sâ<