BH1_new_X_lastJ +¨

>ָֿg¨>`QQ½₪_>EGעשÙ¢>