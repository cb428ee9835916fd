BH1_new_G_secondJ +¨

>ָֿg¨>`QQ½₪_>EGעשÙ¢>