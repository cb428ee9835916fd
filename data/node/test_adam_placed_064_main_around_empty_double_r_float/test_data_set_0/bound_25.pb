BH1_new_twin_laterJ ¥t=h#â<GÑ
ª¸ñ<{”/u%üá<ŒÊ÷NSŠâ<