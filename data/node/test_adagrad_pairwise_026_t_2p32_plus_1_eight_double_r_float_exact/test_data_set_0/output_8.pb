BH1_newJX…
æ@