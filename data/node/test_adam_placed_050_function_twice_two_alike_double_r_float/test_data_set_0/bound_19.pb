BH2_new_againJ ò=ñäÆ%Í<%ñ™Y?hĞ<¢xcTü
É<%Ró0†Ş<