BH1_new_state_secondJ +¨

>ָֿg¨>`QQ½₪_>EGעשÙ¢>