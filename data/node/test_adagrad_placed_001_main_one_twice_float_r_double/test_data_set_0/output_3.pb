BH1_new_laterJF¤+ÀK~À¹PÀ»£œÀ
“æÀÈeÁ