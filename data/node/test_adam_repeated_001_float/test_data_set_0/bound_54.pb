BH1_new_V_lastJ +¨

>ָֿg¨>`QQ½₪_>EGעשÙ¢>