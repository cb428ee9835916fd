BH1_new_state_lastJ +¨

>ָֿg¨>`QQ½₪_>EGעשÙ¢>