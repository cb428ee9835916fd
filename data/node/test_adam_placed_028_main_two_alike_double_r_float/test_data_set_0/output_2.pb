BX2_new_capturedJ sç
²ˆ,ö¿cË4k€/ñ¿†>ZÀ54ù?ê—×ÜUû?