BH1_negativeJ µkwDð¿<C€R%Wæ¿¹ZÕµá
À”º+—©‚ý¿