B	X1_new_ifJ m
&ÅºŸ>%ojål³>ÒÝ‡?Çf³>ÄèHmÞƒ>