BH1_new_X_secondJ +¨

>ָֿg¨>`QQ½₪_>EGעשÙ¢>