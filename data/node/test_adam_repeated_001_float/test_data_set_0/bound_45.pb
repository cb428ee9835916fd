BH1_new_G_lastJ +¨

>ָֿg¨>`QQ½₪_>EGעשÙ¢>