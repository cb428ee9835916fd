BH2_new_laterJ _b_À°Ä>Ý¥)±±> Ú
ixb¤>»7,r/U±>