BH1_new_V_secondJ +¨

>ָֿg¨>`QQ½₪_>EGעשÙ¢>