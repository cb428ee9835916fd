BH1_new_H_lastJ +¨

>ָֿg¨>`QQ½₪_>EGעשÙ¢>