BH1_new_laterJ ¥t=h#â<GÑ
ª¸ñ<{”/u%üá<ŒÊ÷NSŠâ<