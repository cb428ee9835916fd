BH2_newJ iy ÙRý¼<s/ùBmî±<ÐÔ“d†FÏ<¦Ñ=
—â<