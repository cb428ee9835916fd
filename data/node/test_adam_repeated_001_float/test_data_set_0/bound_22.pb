BH1_new_H_secondJ +¨

>ָֿg¨>`QQ½₪_>EGעשÙ¢>